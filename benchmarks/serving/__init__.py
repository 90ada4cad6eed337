"""What serving costs beside a direct call, a server without a model, and other servers."""
