-- What workers have, and until when their leases go: a handful.
SELECT id, classes, until_us FROM workers
