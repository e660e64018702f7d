"""The engine room: where actors run, who routes their messages, restarts them and lets them sleep."""
