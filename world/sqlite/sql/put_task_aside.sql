-- A task that is of no run: nobody is given it again; doctor names it. By key.
UPDATE tasks SET visible_us = 253402300799000000 WHERE key = ?1
