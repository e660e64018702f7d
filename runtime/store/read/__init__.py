"""runtime/store/read"""
