-- No run of a workflow is marked any more that was released. By key.
DELETE FROM holds WHERE workflow = ?1
