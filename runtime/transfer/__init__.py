"""runtime/transfer"""
