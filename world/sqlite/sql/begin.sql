-- Takes the write lock; waits for other processes as long as the busy timeout.
BEGIN IMMEDIATE
