"""The web interface: play, analyse, look at games, runs and ratings in the browser. Presentation only."""
