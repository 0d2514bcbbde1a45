-- Rows that are of no run or class that there is. All of the queue, of the tasks and of inboxes, on purpose; at most 20 are named.
SELECT 'row ' || q.run || ' of queue' FROM {schema}.queue q WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = q.run)
UNION ALL SELECT 'row ' || q.run || ' of queue (its class)' FROM {schema}.queue q WHERE NOT EXISTS (SELECT FROM {schema}.classes c WHERE c.key = q.class)
UNION ALL SELECT 'row ' || t.key || ' of tasks' FROM {schema}.tasks t WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = t.run)
UNION ALL SELECT 'row ' || i."row" || ' of inbox' FROM {schema}.inbox i WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = i.run)
LIMIT 20
