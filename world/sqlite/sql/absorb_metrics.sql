-- What another process has added to its own. By key.
UPDATE metrics SET says = '', put_at = ?2 WHERE process = ?1
