-- Whether a limit holds places until the end. By key.
SELECT until_end FROM limits WHERE name = ?1
