"""mnemic/cli"""
