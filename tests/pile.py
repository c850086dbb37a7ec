"""A small game of one's own, as source text: take one to three from a pile; who takes the last wins."""

# The methods of the class; what differs between tests is around them.
PILE_RULES = """\
    def acting(self, position):
        return (position[1],) if position[0] else ()

    def legal_actions(self, position, player):
        return range(min(position[0], 3))

    def apply(self, position, action):
        left, player = position[0] - action - 1, position[1]
        win = 0 if left else 1 - 2 * player
        return (left, 1 - player), (win, -win)

    def observation(self, position, player):
        return position[0], position[1] == player
"""
