"""The spool: files of sealed frames that hooks append to, read back in order past any damage."""
