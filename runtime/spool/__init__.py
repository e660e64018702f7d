"""runtime/spool"""
