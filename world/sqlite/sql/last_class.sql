-- The last key of a class that classes and the queue have, though the class be lost. All of the queue, on purpose: it is asked where a class is new.
SELECT max(coalesce((SELECT max(key) FROM classes WHERE key < 4611686018427387904), 0),
           coalesce((SELECT max(class) FROM queue WHERE class < 4611686018427387904), 0))
