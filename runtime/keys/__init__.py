"""Keys: 32 random bytes, the keys derived from them, and the key header that opens a mind."""
