-- All workflows and versions: a few dozen.
SELECT key, workflow, version FROM classes
