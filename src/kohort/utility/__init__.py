"""What a release costs and what it is still good for."""
