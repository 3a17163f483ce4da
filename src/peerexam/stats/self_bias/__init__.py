"""Self-bias by Eq. 1 and its decomposition into roles.

Begin with `rank_bias`; `role_design` and `role_fit` separate the roles.
"""
