-- A row of the inbox with the last number that there is, which nobody gave it, gets the next one: else no row could be added. By key.
UPDATE OR IGNORE inbox SET row = (SELECT coalesce(max(row), 0) + 1 FROM inbox WHERE row < 9223372036854775807) WHERE row = 9223372036854775807
