-- +goose Up
CREATE TABLE head (
  id smallint PRIMARY KEY CHECK (id = 1), change bigint NOT NULL, at bigint NOT NULL, digest text COLLATE "C" NOT NULL,
  compacted bigint NOT NULL, checkpoint text COLLATE "C" NOT NULL, epoch text COLLATE "C" NOT NULL, registry bigint NOT NULL,
  denial bigint NOT NULL, denial_digest text COLLATE "C" NOT NULL,
  denial_compacted bigint NOT NULL, denial_checkpoint text COLLATE "C" NOT NULL, hash_key bytea, hash_key_id text COLLATE "C" NOT NULL);
INSERT INTO head VALUES (1, 0, 0, '', 0, '', replace(CAST(gen_random_uuid() AS text), '-', ''), 0, 0, '', 0, '', NULL, '');

CREATE TABLE changes (
  number bigint PRIMARY KEY, at bigint NOT NULL, author text COLLATE "C" NOT NULL, via text COLLATE "C" NOT NULL, message text NOT NULL,
  verb text COLLATE "C" NOT NULL, about bigint NOT NULL, edits bigint NOT NULL, digest text COLLATE "C" NOT NULL);
CREATE INDEX changes_author ON changes (author, number);

CREATE TABLE requests (
  author text COLLATE "C" NOT NULL, request text COLLATE "C" NOT NULL, draft text COLLATE "C" NOT NULL, change bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (author, request));
CREATE INDEX requests_at ON requests (at);

CREATE TABLE contents (hash text COLLATE "C" PRIMARY KEY, key_id text COLLATE "C" NOT NULL, body bytea NOT NULL);

CREATE TABLE objects (
  id text COLLATE "C" PRIMARY KEY, target text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL, rank smallint NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, hash text COLLATE "C" NOT NULL,
  change bigint NOT NULL, hold text, created bigint NOT NULL,
  UNIQUE (target, namespace, kind, grp, name));

CREATE TABLE generations (
  object text COLLATE "C" NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, hash text COLLATE "C" NOT NULL, change bigint NOT NULL,
  before_revision bigint NOT NULL, kept smallint NOT NULL DEFAULT 1,
  PRIMARY KEY (object, generation));
CREATE UNIQUE INDEX generations_change ON generations (change, object);
CREATE INDEX generations_hash ON generations (hash, object) WHERE kept = 1;

CREATE TABLE targets (name text COLLATE "C" PRIMARY KEY, body text NOT NULL, by_whom text COLLATE "C" NOT NULL, at bigint NOT NULL);
INSERT INTO targets VALUES ('default', '{"name":"default","server":"Proxies"}', '', 0);
CREATE TABLE clusters (
  name text COLLATE "C" PRIMARY KEY, body text NOT NULL, by_whom text COLLATE "C" NOT NULL, at bigint NOT NULL, seen bigint NOT NULL);

CREATE TABLE tokens (name text COLLATE "C" PRIMARY KEY, hash text COLLATE "C" NOT NULL UNIQUE, body text NOT NULL, expires bigint NOT NULL,
  by_whom text COLLATE "C" NOT NULL, at bigint NOT NULL);
CREATE TABLE grants (name text COLLATE "C" PRIMARY KEY, body text NOT NULL, by_whom text COLLATE "C" NOT NULL, at bigint NOT NULL);
CREATE TABLE denials (
  number bigint PRIMARY KEY, at bigint NOT NULL, subject text COLLATE "C" NOT NULL, permission text COLLATE "C" NOT NULL, object text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL, digest text COLLATE "C" NOT NULL);

CREATE TABLE work (
  cluster text COLLATE "C" NOT NULL, object text COLLATE "C" NOT NULL, target text COLLATE "C" NOT NULL, generation bigint NOT NULL, change bigint NOT NULL,
  rank smallint NOT NULL, due bigint NOT NULL, attempts int NOT NULL DEFAULT 0, failed int NOT NULL DEFAULT 0,
  silent int NOT NULL DEFAULT 0, lease bigint, worker text COLLATE "C" NOT NULL DEFAULT '', again bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (cluster, object))
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 200);
CREATE INDEX work_object ON work (object);
CREATE INDEX work_due ON work (cluster, due, rank);
CREATE INDEX work_first ON work (cluster, change, rank) WHERE failed = 0;
CREATE INDEX work_silent ON work (cluster, silent) WHERE silent >= 3;

CREATE TABLE applied (
  object text COLLATE "C" NOT NULL, cluster text COLLATE "C" NOT NULL, grp text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, namespace text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, lease bigint NOT NULL, uid text COLLATE "C" NOT NULL,
  kube_generation bigint NOT NULL, result text COLLATE "C" NOT NULL, at bigint NOT NULL, code text COLLATE "C" NOT NULL, message text NOT NULL,
  permanent smallint NOT NULL,
  PRIMARY KEY (object, cluster));
CREATE UNIQUE INDEX applied_place ON applied (cluster, grp, kind, namespace, name) WHERE generation > 0;

CREATE TABLE observed (
  object text COLLATE "C" NOT NULL, cluster text COLLATE "C" NOT NULL, uid text COLLATE "C" NOT NULL, resource_version text COLLATE "C" NOT NULL,
  generation bigint NOT NULL, result text COLLATE "C" NOT NULL, drift text COLLATE "C" NOT NULL, by_whom text COLLATE "C" NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, cluster));

CREATE TABLE live (
  object text COLLATE "C" NOT NULL, cluster text COLLATE "C" NOT NULL, gateway text COLLATE "C" NOT NULL, refused smallint NOT NULL,
  generation bigint NOT NULL, proxies bigint NOT NULL, words text NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, cluster, gateway, refused));

CREATE TABLE attempts (
  object text COLLATE "C" NOT NULL, generation bigint NOT NULL, cluster text COLLATE "C" NOT NULL, gateway text COLLATE "C" NOT NULL, code text COLLATE "C" NOT NULL,
  message text NOT NULL, times bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, generation, cluster, gateway, code));
