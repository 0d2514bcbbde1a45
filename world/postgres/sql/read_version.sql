-- The newest step that was made, 0 where there is none.
SELECT coalesce(max(version), 0) FROM {schema}.versions
