"""An asyncio-native runtime for Ascend's ACL lifecycle."""
