"""What the command line and the dashboard show alike: results of searches, opponents, names of games and players."""

SIMULATIONS = 400  # per move against a person who asks for no other number; quick enough to answer at once
