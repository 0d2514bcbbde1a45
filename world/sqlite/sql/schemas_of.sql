-- The schemas of a version of a workflow. By key.
SELECT schemas FROM definitions WHERE workflow = ?1 AND version = ?2
