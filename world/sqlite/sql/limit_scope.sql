-- What is kept of the scope of a limit, its number, and its burst. By key.
SELECT until_end, per_ns, refuse, coalesce(number, said), burst FROM limits WHERE name = ?1
