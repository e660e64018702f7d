"""runtime/files"""
