"""The workspace: requests for files, uploads, artifacts."""
