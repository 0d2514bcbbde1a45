-- Gives the group up.
ROLLBACK
