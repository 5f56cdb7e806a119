"""Charts, HTML and text for people, made from audit results and figures."""
