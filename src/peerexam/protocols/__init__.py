"""How agents meet: each protocol a plain async program over agents, which keeps no state."""
