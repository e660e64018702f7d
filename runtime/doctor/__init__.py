"""runtime/doctor"""
