"""How far a judge agrees with others and what it favours."""
