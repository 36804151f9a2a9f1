"""doxa"""
