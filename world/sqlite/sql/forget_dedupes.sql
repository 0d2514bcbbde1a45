DELETE FROM dedupes WHERE until_us <= ?1
