DELETE FROM dedupes WHERE queue = ?1
