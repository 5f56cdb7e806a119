"""What people look at: charts and HTML made of evidence and figures, never of cells."""
