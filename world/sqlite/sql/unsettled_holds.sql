-- What is held or released, with runs that are not moved, and when somebody last went on with it: a few.
SELECT workflow, changed_us FROM holds WHERE state <> 1 ORDER BY workflow
