"""runtime/store/apply"""
