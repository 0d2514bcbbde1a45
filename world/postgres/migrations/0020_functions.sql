-- SQL as a door: publish, send, start and signal, for triggers and for programs in any language, in their own transaction, under a role that may call these four and
-- nothing else. They write what the Go API writes, to the byte: see packages world and layout. The functions before them are theirs alone.

-- Checksums, as package layout has them: numbers are mixed into a CRC-32C, which is here a bigint.
CREATE FUNCTION {schema}.sum_number(s bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $sum$
  SELECT (((s << 5) & 4294967295) | (s >> 27)) # div(x, 4294967296)::bigint # (x % 4294967296)::bigint
  FROM (SELECT n::numeric * 11400714819323198485 % 18446744073709551616) AS product (x)
$sum$;

CREATE FUNCTION {schema}.sum_bytes(s bigint, b bytea) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $sum$
DECLARE
  steps CONSTANT bigint[] := '{
    0,4067132163,3778769143,324072436,3348797215,904991772,648144872,3570033899,2329499855,2024987596,1809983544,2575936315,1296289744,3207089363,
    2893594407,1578318884,274646895,3795141740,4049975192,51262619,3619967088,632279923,922689671,3298075524,2592579488,1760304291,2075979607,
    2312596564,1562183871,2943781820,3156637768,1313733451,549293790,3537243613,3246849577,871202090,3878099393,357341890,102525238,4101499445,
    2858735121,1477399826,1264559846,3107202533,1845379342,2677391885,2361733625,2125378298,820201905,3263744690,3520608582,598981189,4151959214,
    85089709,373468761,3827903834,3124367742,1213305469,1526817161,2842354314,2107672161,2412447074,2627466902,1861252501,1098587580,3004210879,
    2688576843,1378610760,2262928035,1955203488,1742404180,2511436119,3416409459,969524848,714683780,3639785095,205050476,4266873199,3976438427,
    526918040,1361435347,2739821008,2954799652,1114974503,2529119692,1691668175,2005155131,2247081528,3690758684,697762079,986182379,3366744552,
    476452099,3993867776,4250756596,255256311,1640403810,2477592673,2164122517,1922457750,2791048317,1412925310,1197962378,3037525897,3944729517,
    427051182,170179418,4165941337,746937522,3740196785,3451792453,1070968646,1905808397,2213795598,2426610938,1657317369,3053634322,1147748369,
    1463399397,2773627110,4215344322,153784257,444234805,3893493558,1021025245,3467647198,3722505002,797665321,2197175160,1889384571,1674398607,
    2443626636,1164749927,3070701412,2757221520,1446797203,137323447,4198817972,3910406976,461344835,3484808360,1037989803,781091935,3705997148,
    2460548119,1623424788,1939049696,2180517859,1429367560,2807687179,3020495871,1180866812,410100952,3927582683,4182430767,186734380,3756733383,
    763408580,1053836080,3434856499,2722870694,1344288421,1131464017,2971354706,1708204729,2545590714,2229949006,1988219213,680717673,3673779818,
    3383336350,1002577565,4010310262,493091189,238226049,4233660802,2987750089,1082061258,1395524158,2705686845,1972364758,2279892693,2494862625,
    1725896226,952904198,3399985413,3656866545,731699698,4283874585,222117402,510512622,3959836397,3280807620,837199303,582374963,3504198960,68661723,
    4135334616,3844915500,390545967,1230274059,3141532936,2825850620,1510247935,2395924756,2091215383,1878366691,2644384480,3553878443,565732008,
    854102364,3229815391,340358836,3861050807,4117890627,119113024,1493875044,2875275879,3090270611,1247431312,2660249211,1828433272,2141937292,
    2378227087,3811616794,291187481,34330861,4032846830,615137029,3603020806,3314634738,939183345,1776939221,2609017814,2295496738,2058945313,
    2926798794,1545135305,1330124605,3173225534,4084100981,17165430,307568514,3762199681,888469610,3332340585,3587147933,665062302,2042050490,
    2346497209,2559330125,1793573966,3190661285,1279665062,1595330642,2910671697}';
  crc bigint := {schema}.sum_number(s, length(b)) # 4294967295;
BEGIN
  FOR i IN 0 .. length(b) - 1 LOOP
    crc := steps[((crc # get_byte(b, i)) & 255) + 1] # (crc >> 8);
  END LOOP;
  RETURN crc # 4294967295;
END $sum$;

CREATE FUNCTION {schema}.sum_text(s bigint, t text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $sum$
  SELECT {schema}.sum_bytes(s, convert_to(t, 'UTF8'))
$sum$;

CREATE FUNCTION {schema}.sum_value(s bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS $sum$
  SELECT (CASE WHEN s > 2147483647 THEN s - 4294967296 ELSE s END)::integer
$sum$;

-- Of a message, with its queue and group, and of a publication, with its topic and source.
CREATE FUNCTION {schema}.sum_message(place text, part text, head text, body bytea) RETURNS integer LANGUAGE sql IMMUTABLE AS $sum$
  SELECT {schema}.sum_value({schema}.sum_bytes({schema}.sum_text({schema}.sum_text({schema}.sum_text(0, place), coalesce(part, '')), head), body))
$sum$;

-- Whether text has no controls, no separators but the space, no formats, and nothing for private use: unicode.IsPrint of Go, but for what is not assigned.
CREATE FUNCTION {schema}.printable(t text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $printable$
  SELECT t COLLATE "C" !~ ('[\u0001-\u001F\u007F-\u00A0\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u1680\u180E\u2000-\u200F\u2028-\u202F\u205F-\u206F'
    || '\u3000\uE000-\uF8FF\uFEFF\uFFF9-\uFFFB\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A\U000E0001-\U000E007F\U000F0000-\U0010FFFF]')
$printable$;

-- What is refused, as package world refuses it.
CREATE FUNCTION {schema}.check_text(what text, t text, most integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $check$
BEGIN
  IF coalesce(t, '') = '' OR octet_length(t) > most THEN
    RAISE EXCEPTION '% "%": must have 1 to % bytes, has %', what, left(t, 40), most, coalesce(octet_length(t), 0) USING ERRCODE = '22023';
  ELSIF NOT {schema}.printable(t) THEN
    RAISE EXCEPTION '% "%" has a character that is not printable', what, left(t, 40) USING ERRCODE = '22023', HINT = 'Use letters, digits, signs and spaces.';
  END IF;
  RETURN t;
END $check$;

-- Names of workflows and queues.
CREATE FUNCTION {schema}.check_word(what text, t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $check$
BEGIN
  IF t COLLATE "C" ~ '^[A-Za-z0-9_.-]{1,128}$' THEN RETURN t; END IF;
  RAISE EXCEPTION '% "%": want 1 to 128 of A-Z a-z 0-9 _ . -', what, left(t, 40) USING ERRCODE = '22023';
END $check$;

-- A duration in microseconds; null: none.
CREATE FUNCTION {schema}.check_time(what text, d interval, most interval) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $check$
BEGIN
  IF d IS NULL THEN RETURN 0; END IF;
  IF extract(epoch FROM d) < 0 OR extract(epoch FROM d) > extract(epoch FROM most) THEN
    RAISE EXCEPTION '% %: want 0 to %', what, d, most USING ERRCODE = '22023';
  END IF;
  RETURN (extract(epoch FROM d) * 1000000)::bigint;
END $check$;

-- A priority of 1 to 4, as it is kept.
CREATE FUNCTION {schema}.check_priority(n integer) RETURNS smallint LANGUAGE plpgsql IMMUTABLE AS $check$
BEGIN
  IF n NOT BETWEEN 1 AND 4 THEN
    RAISE EXCEPTION 'priority %: want 1 to 4', n USING ERRCODE = '22023';
  END IF;
  RETURN coalesce(n, 2) - 1;
END $check$;

-- A JSON value, as it is kept. Text is taken out of it before its brackets and its members are counted; of a member that is there twice jsonb keeps one.
CREATE FUNCTION {schema}.check_json(what text, v json) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $check$
DECLARE
  b       bytea := convert_to(coalesce(v::text, 'null'), 'UTF8');
  bare    text;
  members integer;
BEGIN
  IF length(b) > 1048576 THEN
    RAISE EXCEPTION '% has % bytes as JSON: the most is 1048576', what, length(b) USING ERRCODE = '54000';
  END IF;
  IF v IS NULL THEN RETURN b; END IF;
  bare := regexp_replace(v::text, '"(?:[^"\\]|\\.)*"', '', 'g');
  IF length(bare) > 2000 AND (SELECT max(depth) FROM (SELECT sum(CASE WHEN c IN ('[', '{') THEN 1 ELSE -1 END) OVER (ORDER BY i) AS depth
      FROM string_to_table(regexp_replace(bare, '[^][{}]', '', 'g'), NULL) WITH ORDINALITY AS all_of (c, i)) AS depths) > 1000 THEN
    RAISE EXCEPTION '% has more than 1000 levels of arrays and objects', what USING ERRCODE = '22023';
  END IF;
  members := length(bare) - length(replace(bare, ':', ''));
  bare := regexp_replace(v::jsonb::text, '"(?:[^"\\]|\\.)*"', '', 'g');
  IF length(bare) - length(replace(bare, ':', '')) < members THEN
    RAISE EXCEPTION '% has a member twice', what USING ERRCODE = '22023';
  END IF;
  RETURN b;
END $check$;

-- Text as encoding/json of Go writes it.
CREATE FUNCTION {schema}.quoted(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $quoted$
  SELECT replace(replace(replace(replace(replace(to_json(t)::text, '<', '\u003c'), '>', '\u003e'), '&', '\u0026'), chr(8232), '\u2028'), chr(8233), '\u2029')
$quoted$;

-- The head of a message with headers, or of a publication: its messages have three more.
CREATE FUNCTION {schema}.check_headers(headers json, topic text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $check$
DECLARE
  size bigint;
  list text;
BEGIN
  IF headers IS NULL THEN RETURN '{}'; END IF;
  PERFORM {schema}.check_json('headers', headers);
  IF json_typeof(headers) <> 'object' THEN
    RAISE EXCEPTION 'headers: want a JSON object of texts' USING ERRCODE = '22023';
  ELSIF EXISTS (SELECT FROM json_each(headers) h WHERE json_typeof(h.value) <> 'string') THEN
    RAISE EXCEPTION 'headers: want a JSON object of texts' USING ERRCODE = '22023';
  END IF;
  SELECT coalesce(sum(octet_length({schema}.check_text('header', h.key, 256)) + octet_length(h.value))
      FILTER (WHERE topic IS NULL OR h.key NOT IN ('stepwell-topic', 'stepwell-publication', 'stepwell-published')), 0) + coalesce(octet_length(topic) + 103, 0),
    string_agg({schema}.quoted(h.key) || ':' || {schema}.quoted(h.value), ',' ORDER BY h.key COLLATE "C")
  INTO size, list FROM json_each_text(headers) h;
  IF size > 8192 THEN
    RAISE EXCEPTION 'headers of more than 8192 bytes' USING ERRCODE = '54000';
  END IF;
  RETURN coalesce('{"h":{' || list || '}}', '{}');
END $check$;

-- Where encryption keys are used nobody sends plain payloads by accident: SQL has no key.
CREATE FUNCTION {schema}.check_plain() RETURNS void LANGUAGE plpgsql STABLE AS $check$
BEGIN
  IF EXISTS (SELECT FROM {schema}.keys) AND NOT EXISTS (SELECT FROM {schema}.settings s WHERE s.name = 'plain_sql' AND s.value = 1) THEN
    RAISE EXCEPTION 'payloads of this schema are encrypted, and what SQL sends is not' USING ERRCODE = '55000',
      HINT = 'Send it by a program that has the key, or have the owner of the schema allow it: see docs/sql.md.';
  END IF;
END $check$;

-- An ID: a prefix, a time, and 80 bits.
CREATE FUNCTION {schema}.new_id(prefix text, at timestamptz, rest bit(80)) RETURNS text LANGUAGE sql IMMUTABLE AS $id$
  SELECT prefix || '_' || string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + substring(b FROM 5 * i + 1 FOR 5)::bit(5)::integer, 1), '' ORDER BY i)
  FROM (SELECT B'00' || floor(extract(epoch FROM at) * 1000)::bigint::bit(48) || rest AS b) x, generate_series(0, 25) i
$id$;

CREATE FUNCTION {schema}.number_bits(n bigint) RETURNS bit(80) LANGUAGE sql IMMUTABLE AS $bits$
  SELECT repeat('0', 16)::bit(16) || n::bit(64)
$bits$;

CREATE FUNCTION {schema}.random_bits() RETURNS bit(80) LANGUAGE sql VOLATILE AS $bits$
  SELECT ('x' || left(encode(sha256(uuid_send(gen_random_uuid())), 'hex'), 20))::bit(80)
$bits$;

-- FNV-1a of a name: what processes of this schema listen to, and lock, is called by it.
CREATE FUNCTION {schema}.class_of(name text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $class$
DECLARE
  b bytea := convert_to(name, 'UTF8');
  h bigint := 2166136261;
BEGIN
  FOR i IN 0 .. length(b) - 1 LOOP
    h := ((h # get_byte(b, i)) * 16777619) & 4294967295;
  END LOOP;
  RETURN h & 2147483647;
END $class$;

-- Tells all processes, when the transaction is committed.
CREATE FUNCTION {schema}.tell(kind text, name text) RETURNS void LANGUAGE sql VOLATILE AS $tell$
  SELECT pg_notify('stepwell_' || lpad(to_hex({schema}.class_of((parse_ident($n${schema}$n$))[1])), 8, '0'), json_build_object(kind, json_build_array(name))::text)
$tell$;

-- By what lists find a run that has an attribute: see AttributeKey of package world.
CREATE FUNCTION {schema}.attribute_key(v json) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $key$
DECLARE
  t        text := btrim(v::text, E' \t\r\n');
  mantissa text;
  fraction text;
  digits   text;
  short    text;
  exponent numeric;
BEGIN
  CASE json_typeof(v)
  WHEN 'object' THEN RETURN 'o';
  WHEN 'array' THEN RETURN 'a';
  WHEN 'null' THEN RETURN 'z';
  WHEN 'boolean' THEN RETURN left(t, 1);
  WHEN 'string' THEN
    t := v #>> '{}';
    IF position(chr(65533) IN t) > 0 THEN RETURN 's'; END IF;
    RETURN 's' || CASE WHEN length(t) <= 128 THEN t ELSE left(t, 64) || right(t, 64) || length(t) END;
  ELSE
    IF length(t) > 64 THEN RETURN 'n' || left(t, 64); END IF;
    mantissa := ltrim(split_part(lower(t), 'e', 1), '-');
    fraction := split_part(mantissa, '.', 2);
    digits := ltrim(split_part(mantissa, '.', 1) || fraction, '0');
    short := rtrim(digits, '0');
    exponent := coalesce(nullif(split_part(lower(t), 'e', 2), '')::numeric, 0) + length(digits) - length(short) - length(fraction);
    IF short = '' OR abs(exponent) > 999999 THEN RETURN 'n'; END IF;
    RETURN 'n' || CASE WHEN left(t, 1) = '-' THEN '-' ELSE '' END || short || 'e' || exponent;
  END CASE;
END $key$;

-- Sends a message to a queue, and tells its ID: that of the first, where its dedupe ID is known.
CREATE FUNCTION {schema}.send(queue text, payload json, message_group text DEFAULT NULL, priority integer DEFAULT NULL, delay interval DEFAULT NULL,
  dedupe_id text DEFAULT NULL, dedupe_window interval DEFAULT NULL, headers json DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $send$
#variable_conflict use_column
DECLARE
  place  text := {schema}.check_word('queue name', send.queue);
  part   text := CASE WHEN send.message_group <> '' THEN {schema}.check_text('group', send.message_group, 256) END;
  once   text := CASE WHEN send.dedupe_id <> '' THEN {schema}.check_text('dedupe ID', send.dedupe_id, 256) END;
  wait   bigint := {schema}.check_time('delay', send.delay, '365 days');
  window_us bigint := coalesce(nullif({schema}.check_time('dedupe window', send.dedupe_window, '7 days'), 0), 300000000);
  rank   smallint := {schema}.check_priority(send.priority);
  bytes  bytea := {schema}.check_json('the payload', send.payload);
  text_of_head text := {schema}.check_headers(send.headers, NULL);
  of_queue integer;
  number bigint;
  sent   timestamptz;
  id_of  text;
BEGIN
  IF part IS NOT NULL AND wait > 0 THEN
    RAISE EXCEPTION 'group "%": what has a group has its order, and no delay', left(part, 40) USING ERRCODE = '22023';
  END IF;
  PERFORM {schema}.check_plain();
  SELECT q.key INTO of_queue FROM {schema}.queues q WHERE q.name = place;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'queue %: not found', place USING ERRCODE = '42704', HINT = 'Declare it first: stepwell queues declare.';
  END IF;
  LOOP
    EXIT WHEN once IS NULL;
    INSERT INTO {schema}.dedupes AS d (queue, id, message, until) VALUES (of_queue, once, '', clock_timestamp() + window_us * interval '1 microsecond')
    ON CONFLICT (queue, id) DO UPDATE SET message = '', until = excluded.until WHERE d.until <= clock_timestamp();
    EXIT WHEN FOUND;
    SELECT d.message INTO id_of FROM {schema}.dedupes d WHERE d.queue = of_queue AND d.id = once;
    IF FOUND THEN RETURN id_of; END IF;
  END LOOP;
  INSERT INTO {schema}.messages AS m (queue, grp, priority, visible_at, head, body, sum)
  VALUES (of_queue, part, rank, clock_timestamp() + wait * interval '1 microsecond', text_of_head, bytes, {schema}.sum_message(place, part, text_of_head, bytes))
  RETURNING m.key, m.sent_at INTO number, sent;
  id_of := {schema}.new_id('mesg', sent, {schema}.number_bits(number));
  IF once IS NOT NULL THEN
    UPDATE {schema}.dedupes d SET message = id_of WHERE d.queue = of_queue AND d.id = once;
  END IF;
  PERFORM {schema}.tell('q', place);
  RETURN id_of;
END $send$;

-- Publishes under a topic, and tells the publication's ID: that of the first, where the topic has had the delivery ID.
CREATE FUNCTION {schema}.publish(topic text, payload json, source text DEFAULT NULL, delay interval DEFAULT NULL, delivery_id text DEFAULT NULL, headers json DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $publish$
#variable_conflict use_column
DECLARE
  place  text := publish.topic;
  part   text := CASE WHEN publish.source <> '' THEN {schema}.check_text('source', publish.source, 256) END;
  once   text := CASE WHEN publish.delivery_id <> '' THEN {schema}.check_text('delivery ID', publish.delivery_id, 256) END;
  wait   bigint := {schema}.check_time('delay', publish.delay, '365 days');
  bytes  bytea := {schema}.check_json('the payload', publish.payload);
  now_is timestamptz;
  text_of_head text;
  number bigint;
BEGIN
  IF place IS NULL OR octet_length(place) > 256 OR place COLLATE "C" !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){0,15}$' THEN
    RAISE EXCEPTION 'topic "%": want 1 to 16 words of A-Z a-z 0-9 _ - with dots between, at most 256 bytes', left(place, 300) USING ERRCODE = '22023';
  END IF;
  text_of_head := {schema}.check_headers(publish.headers, place);
  PERFORM {schema}.check_plain();
  LOOP
    now_is := clock_timestamp();
    INSERT INTO {schema}.publications AS p (topic, source, dedupe, at, due_at, head, body, sum)
    VALUES (place, part, once, now_is, now_is + wait * interval '1 microsecond', text_of_head, bytes, {schema}.sum_message(place, part, text_of_head, bytes))
    ON CONFLICT (topic, dedupe) WHERE dedupe IS NOT NULL DO NOTHING RETURNING p.key INTO number;
    EXIT WHEN FOUND;
    SELECT p.key, p.at INTO number, now_is FROM {schema}.publications p WHERE p.topic = place AND p.dedupe = once;
    IF FOUND THEN RETURN {schema}.new_id('publ', now_is, {schema}.number_bits(number)); END IF;
  END LOOP;
  INSERT INTO {schema}.due (publication, due_at) VALUES (number, CASE WHEN wait > 0 THEN now_is + wait * interval '1 microsecond' ELSE '-infinity' END);
  PERFORM {schema}.tell('t', '');
  RETURN {schema}.new_id('publ', now_is, {schema}.number_bits(number));
END $publish$;

-- Sends an event to a run. False: its delivery ID was known, and nothing was sent.
CREATE FUNCTION {schema}.signal(run text, event text, payload json DEFAULT NULL, delivery_id text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $signal$
#variable_conflict use_column
DECLARE
  name_is text := {schema}.check_text('event', signal.event, 256);
  bytes   bytea := {schema}.check_json('the payload', signal.payload);
  id_is   text := CASE WHEN signal.delivery_id <> '' THEN {schema}.check_text('delivery ID', signal.delivery_id, 512)
    ELSE {schema}.new_id('dlvr', clock_timestamp(), {schema}.random_bits()) END;
  hash    bytea := substr(sha256(convert_to('signal_received', 'UTF8') || '\x00'::bytea || convert_to(name_is, 'UTF8') || '\x00'::bytea || convert_to(id_is, 'UTF8')), 1, 16);
  -- As compact JSON.
  print_is bytea := substr(sha256(convert_to(regexp_replace(convert_from(bytes, 'UTF8'), '("(?:[^"\\]|\\.)*")|[ \t\n\r]+', '\1', 'g'), 'UTF8')), 1, 8);
  -- Its time is the zero time: it is that at which it is read.
  text_of_head text := '{"c":"AAAAAAAAAAAAAAAAAAAAAA","t":-62135596800000000,"e":[{"y":"signal_received","n":' || to_json(name_is)::text || ',"o":0,"l":' || length(bytes) || '}]}';
  r       record;
BEGIN
  PERFORM {schema}.check_plain();
  LOOP
    SELECT x.key, x.sealed, q.run IS NOT NULL AS live, q.owner, coalesce(q."full", false) AS is_full, d.run IS NOT NULL AS known, d.print,
      EXISTS (SELECT FROM {schema}.inbox i WHERE i.run = x.key AND i.delivery = id_is AND i.key = '') AS waits
    INTO r FROM {schema}.runs x LEFT JOIN {schema}.queue q ON q.run = x.key LEFT JOIN {schema}.delivered d ON d.run = x.key AND d.key = hash
    WHERE x.ns = 0 AND x.id = signal.run;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'run %: not found', coalesce(left(signal.run, 140), 'NULL') USING ERRCODE = 'P0002';
    ELSIF r.known AND r.print <> print_is THEN
      RAISE EXCEPTION 'run %: the delivery ID "%" was used for another payload', signal.run, id_is USING ERRCODE = '23505';
    ELSIF r.known OR r.waits THEN
      RETURN false;
    ELSIF NOT r.live THEN
      RAISE EXCEPTION 'run %: the run is over', signal.run USING ERRCODE = '55000';
    ELSIF r.sealed IS NOT NULL THEN
      RAISE EXCEPTION 'run %: it is encrypted with the key %, and what SQL sends is not', signal.run, r.sealed USING ERRCODE = '55000';
    ELSIF r.is_full OR (SELECT count(*) FROM (SELECT FROM {schema}.inbox i WHERE i.run = r.key AND i.payload LIMIT 10000) few) >= 10000 THEN
      RAISE EXCEPTION 'run %: too many payloads are unread', signal.run USING ERRCODE = '53400';
    END IF;
    -- So that others can tell who has sent it and is not committed: see sql/deliver.sql.
    PERFORM pg_advisory_xact_lock_shared({schema}.class_of((parse_ident($n${schema}$n$))[1] || '/sends'),
      ((get_byte(hash, 0) * 256 + get_byte(hash, 1) + (r.key & 1023)) & 1023)::integer);
    INSERT INTO {schema}.delivered (run, key, print, sender, marked)
    VALUES (r.key, hash, print_is, CASE WHEN id_is ~ '^step_[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}' THEN '' END, nullif(get_byte(hash, 0) = 0, false))
    ON CONFLICT (run, key) DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, key, sum)
  VALUES (r.key, id_is, false, true, 1, text_of_head, bytes, hash, concat_ws(chr(31), {schema}.sum_value({schema}.sum_bytes({schema}.sum_text(
    {schema}.sum_number({schema}.sum_number({schema}.sum_text(0, ''), 0), 1), text_of_head), bytes)), r.key, '', id_is));
  PERFORM {schema}.tell(CASE WHEN r.owner IS NULL THEN 'p' ELSE 'm' END, signal.run);
  RETURN true;
END $signal$;

-- Starts a run, and tells its ID: that of the run that has the idempotency key, or of the newest in its place, where there is one.
CREATE FUNCTION {schema}.start(workflow text, input json DEFAULT NULL, idempotency_key text DEFAULT NULL, run_id text DEFAULT NULL, delay interval DEFAULT NULL,
  priority integer DEFAULT NULL, version integer DEFAULT NULL, attributes json DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $start$
#variable_conflict use_column
DECLARE
  flow    text := {schema}.check_word('workflow name', start.workflow);
  input_is bytea := {schema}.check_json('the input', start.input);
  bytes   bytea := input_is;
  once    text := CASE WHEN start.idempotency_key <> '' THEN {schema}.check_text('idempotency key', start.idempotency_key, 512) END;
  rank    smallint := {schema}.check_priority(start.priority);
  wait    bigint := {schema}.check_time('delay', start.delay, '292 years');
  number_is integer := coalesce(start.version, 0);
  said    json;
  kept    bigint; -- ns
  most    bigint;
  span    bigint; -- its timeout, ns
  id_is   text;
  holder  text;
  now_is  timestamptz := clock_timestamp();
  since   timestamptz;
  key_is  bigint := nextval($n${schema}.run_keys$n$::regclass);
  class_is integer;
  chance  bytea := sha256(uuid_send(gen_random_uuid()));
  places  text;
  shown   text;
  a       record;
  n       integer := 0;
  size    bigint := 0;
  text_of_head text;
BEGIN
  IF once LIKE 'retry:%' THEN
    RAISE EXCEPTION 'idempotency key "%": keys that begin with "retry:" are those of runs that take the place of others', left(once, 40) USING ERRCODE = '22023';
  ELSIF number_is < 0 THEN
    RAISE EXCEPTION 'version %: want 1 to 2147483647, or none for the one that is there', number_is USING ERRCODE = '22023';
  ELSIF start.run_id <> '' AND (start.run_id COLLATE "C" !~ '^[A-Za-z0-9_.:@~-]{1,128}$' OR start.run_id IN ('.', '..')) THEN
    RAISE EXCEPTION 'run ID "%": want 1 to 128 of A-Z a-z 0-9 _ . : @ ~ -, and not "." or ".." alone', left(start.run_id, 40) USING ERRCODE = '22023';
  END IF;
  PERFORM {schema}.check_plain();
  id_is := coalesce(nullif(start.run_id, ''), {schema}.new_id('wrun', now_is, {schema}.random_bits()));

  -- What the definition says: that of the highest version that a live worker has, where none was asked for.
  IF number_is = 0 THEN
    SELECT coalesce(max((c.v ->> 'version')::integer), 0) INTO number_is
    FROM {schema}.workers w, json_array_elements(CASE json_typeof({schema}.readable(w.classes)) WHEN 'array' THEN {schema}.readable(w.classes) ELSE '[]' END) AS c (v)
    WHERE c.v ->> 'workflow' = flow AND w.ended IS NULL AND (w.until > clock_timestamp() OR w.until > clock_timestamp() - interval '3 minutes'
      AND NOT (EXISTS (SELECT FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT FROM {schema}.tasks t WHERE t.worker = w.key)));
  END IF;
  SELECT {schema}.readable(d.says) INTO said FROM {schema}.definitions d
  WHERE d.workflow = flow AND number_is IN (0, d.version) AND {schema}.readable(d.says) IS NOT NULL ORDER BY d.version DESC LIMIT 1;
  kept := coalesce(nullif((said ->> 'retention')::bigint, 0), 2592000000000000); -- 30 days
  kept := greatest(kept, 0);
  span := greatest(coalesce((said ->> 'timeout')::bigint, 0), 0);
  most := coalesce((SELECT nullif(s.value, 0) FROM {schema}.settings s WHERE s.name = 'retention'), 31536000000000000); -- 365 days
  IF most > 0 AND (kept = 0 OR kept > most) THEN kept := most; END IF;

  IF start.attributes IS NOT NULL THEN
    PERFORM {schema}.check_json('attributes', start.attributes);
    IF json_typeof(start.attributes) <> 'object' THEN
      RAISE EXCEPTION 'attributes: want a JSON object' USING ERRCODE = '22023';
    END IF;
  END IF;
  FOR a IN
    SELECT both_of.key AS name, both_of.value FROM (
      SELECT o.key, o.value FROM json_each(coalesce(start.attributes, '{}')) o UNION ALL
      SELECT o.key, o.value FROM json_each(coalesce(said -> 'attributes', '{}')) o WHERE (start.attributes -> o.key) IS NULL) both_of ORDER BY both_of.key COLLATE "C"
  LOOP
    PERFORM {schema}.check_text('attribute', a.name, 256);
    n := n + 1;
    size := size + octet_length(a.name) + octet_length(a.value::text);
    IF n > 64 OR size > 16384 OR octet_length(a.value::text) > 8192 THEN
      RAISE EXCEPTION 'attributes: a run may have 64, with 16384 bytes, and 8192 bytes in a value' USING ERRCODE = '54000';
    END IF;
    places := concat_ws(',', places, to_json(a.name)::text || ':[' || length(bytes) || ',' || octet_length(a.value::text) || ']');
    shown := concat_ws(',', shown, {schema}.quoted(a.name) || ':' || a.value::text);
    bytes := bytes || convert_to(a.value::text, 'UTF8');
  END LOOP;

  LOOP
    INSERT INTO {schema}.runs (key, id, workflow, version, idem, priority, created_at, retention_ns, attributes, sum)
    VALUES (key_is, id_is, flow, number_is, once, rank, now_is, kept, '{' || shown || '}', {schema}.sum_value({schema}.sum_text({schema}.sum_number({schema}.sum_number(
      {schema}.sum_number({schema}.sum_text({schema}.sum_text(0, id_is), flow), rank), (extract(epoch FROM now_is) * 1000000)::bigint), kept), '')))
    ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    holder := (SELECT x.id FROM {schema}.runs x WHERE x.ns = 0 AND x.workflow = flow AND x.idem = once);
    IF holder IS DISTINCT FROM id_is AND EXISTS (SELECT FROM {schema}.runs x WHERE x.ns = 0 AND x.id = id_is) THEN
      RAISE EXCEPTION 'run %: the run ID is taken', id_is USING ERRCODE = '23505', DETAIL = coalesce('The idempotency key is that of the run ' || holder || '.', '');
    END IF;
    WHILE holder IS NOT NULL LOOP -- what took its place
      id_is := holder;
      holder := (SELECT x.id FROM {schema}.runs x WHERE x.ns = 0 AND x.workflow = flow AND x.idem = 'retry:' || id_is AND x.origin_run = id_is);
      IF holder IS NULL THEN RETURN id_is; END IF;
    END LOOP;
  END LOOP;
  LOOP
    SELECT c.key INTO class_is FROM {schema}.classes c WHERE c.workflow = flow AND c.version = number_is;
    EXIT WHEN FOUND;
    INSERT INTO {schema}.classes (workflow, version) VALUES (flow, number_is) ON CONFLICT DO NOTHING;
  END LOOP;

  since := CASE WHEN wait > 0 THEN least(now_is + wait * interval '1 microsecond', '9999-12-31 23:59:59.999999+00') END;
  text_of_head := '{"c":"' || rtrim(encode(substr(chance, 1, 16), 'base64'), '=') || '","e":[{"y":"run_created","o":0,"l":' || length(input_is)
    || ',"b":{"w":"' || flow || '"' || CASE WHEN number_is > 0 THEN ',"v":' || number_is ELSE '' END
    || ',"s":' || greatest(('x' || encode(substr(chance, 17, 8), 'hex'))::bit(64)::bigint & 9223372036854775807, 1)
    || coalesce(',"i":' || to_json(once)::text, '') || CASE WHEN rank <> 1 THEN ',"p":' || rank ELSE '' END
    || CASE WHEN kept = 0 THEN '' WHEN kept % 1000000000 = 0 THEN ',"r":' || kept / 1000000000 ELSE ',"rn":' || kept END
    || CASE WHEN span = 0 THEN '' WHEN span % 1000000000 = 0 THEN ',"t":' || span / 1000000000 ELSE ',"tn":' || span END
    || coalesce(',"nb":' || (extract(epoch FROM since) * 1000000)::bigint, '') || '}' || coalesce(',"at":{' || places || '}', '') || '}]}';
  INSERT INTO {schema}.log (run, seq, n, format, head, body, sum)
  VALUES (key_is, 1, 1, 1, text_of_head, bytes, {schema}.sum_value({schema}.sum_bytes({schema}.sum_text({schema}.sum_number({schema}.sum_number(
    {schema}.sum_text(0, id_is), 1), 1), text_of_head), bytes)));
  INSERT INTO {schema}.queue (run, class, running, priority, wake_at, ready_at)
  SELECT key_is, class_is, false, rank, t, t FROM greatest(since, clock_timestamp()) t;
  INSERT INTO {schema}.attributes (name, value, created_at, run)
  SELECT o.key, {schema}.attribute_key(o.value), now_is, key_is FROM json_each(('{' || shown || '}')::json) o;
  INSERT INTO {schema}.totals (workflow, status, n) VALUES (flow, 'pending', 1);
  PERFORM {schema}.tell('w', id_is);
  RETURN id_is;
END $start$;

-- Nobody may call anything of it whom the owner has not told so.
DO $revoke$
DECLARE
  f regprocedure;
BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = $n${schema}$n$::regnamespace AND p.proname = ANY (
    '{sum_number,sum_bytes,sum_text,sum_value,sum_message,printable,check_text,check_word,check_time,check_priority,check_json,quoted,check_headers,check_plain,new_id,number_bits,random_bits,class_of,tell,attribute_key,send,publish,signal,start}') LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
  END LOOP;
END $revoke$;
