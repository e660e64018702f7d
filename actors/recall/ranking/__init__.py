"""What ranks the memories of a recall: its signals, pass by pass, and what lifts one above another."""
