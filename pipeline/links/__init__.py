"""What joins the documents of a corpus: phrases that few of them hold."""
