"""runtime/minds"""
