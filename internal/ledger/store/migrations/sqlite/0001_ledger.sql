-- +goose Up
CREATE TABLE head (
  id smallint PRIMARY KEY CHECK (id = 1), change bigint NOT NULL, at bigint NOT NULL, digest text NOT NULL,
  compacted bigint NOT NULL, checkpoint text NOT NULL, epoch text NOT NULL, registry bigint NOT NULL,
  denial bigint NOT NULL, denial_digest text NOT NULL,
  denial_compacted bigint NOT NULL, denial_checkpoint text NOT NULL, hash_key blob, hash_key_id text NOT NULL);
INSERT INTO head VALUES (1, 0, 0, '', 0, '', lower(hex(randomblob(16))), 0, 0, '', 0, '', NULL, '');

CREATE TABLE changes (
  number bigint PRIMARY KEY, at bigint NOT NULL, author text NOT NULL, via text NOT NULL, message text NOT NULL,
  verb text NOT NULL, about bigint NOT NULL, edits bigint NOT NULL, digest text NOT NULL) WITHOUT ROWID;
CREATE INDEX changes_author ON changes (author, number);

CREATE TABLE requests (
  author text NOT NULL, request text NOT NULL, draft text NOT NULL, change bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (author, request)) WITHOUT ROWID;
CREATE INDEX requests_at ON requests (at);

CREATE TABLE contents (hash text PRIMARY KEY, key_id text NOT NULL, body blob NOT NULL);

CREATE TABLE objects (
  id text PRIMARY KEY, target text NOT NULL, grp text NOT NULL, kind text NOT NULL, namespace text NOT NULL,
  name text NOT NULL, rank smallint NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, hash text NOT NULL,
  change bigint NOT NULL, hold text, created bigint NOT NULL,
  UNIQUE (target, namespace, kind, grp, name)) WITHOUT ROWID;

CREATE TABLE generations (
  object text NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, hash text NOT NULL, change bigint NOT NULL,
  before_revision bigint NOT NULL, kept smallint NOT NULL DEFAULT 1,
  PRIMARY KEY (object, generation)) WITHOUT ROWID;
CREATE UNIQUE INDEX generations_change ON generations (change, object);
CREATE INDEX generations_hash ON generations (hash, object) WHERE kept = 1;

CREATE TABLE targets (name text PRIMARY KEY, body text NOT NULL, by_whom text NOT NULL, at bigint NOT NULL);
INSERT INTO targets VALUES ('default', '{"name":"default","server":"Proxies"}', '', 0);
CREATE TABLE clusters (
  name text PRIMARY KEY, body text NOT NULL, by_whom text NOT NULL, at bigint NOT NULL, seen bigint NOT NULL);

CREATE TABLE tokens (name text PRIMARY KEY, hash text NOT NULL UNIQUE, body text NOT NULL, expires bigint NOT NULL,
  by_whom text NOT NULL, at bigint NOT NULL);
CREATE TABLE grants (name text PRIMARY KEY, body text NOT NULL, by_whom text NOT NULL, at bigint NOT NULL);
CREATE TABLE denials (
  number bigint PRIMARY KEY, at bigint NOT NULL, subject text NOT NULL, permission text NOT NULL, object text NOT NULL,
  request text NOT NULL, digest text NOT NULL) WITHOUT ROWID;

CREATE TABLE work (
  cluster text NOT NULL, object text NOT NULL, target text NOT NULL, generation bigint NOT NULL, change bigint NOT NULL,
  rank smallint NOT NULL, due bigint NOT NULL, attempts int NOT NULL DEFAULT 0, failed int NOT NULL DEFAULT 0,
  silent int NOT NULL DEFAULT 0, lease bigint, worker text NOT NULL DEFAULT '', again bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (cluster, object)) WITHOUT ROWID;
CREATE INDEX work_object ON work (object);
CREATE INDEX work_due ON work (cluster, due, rank);
CREATE INDEX work_first ON work (cluster, change, rank) WHERE failed = 0;
CREATE INDEX work_silent ON work (cluster, silent) WHERE silent >= 3;

CREATE TABLE applied (
  object text NOT NULL, cluster text NOT NULL, grp text NOT NULL, kind text NOT NULL, namespace text NOT NULL,
  name text NOT NULL, generation bigint NOT NULL, revision bigint NOT NULL, lease bigint NOT NULL, uid text NOT NULL,
  kube_generation bigint NOT NULL, result text NOT NULL, at bigint NOT NULL, code text NOT NULL, message text NOT NULL,
  permanent smallint NOT NULL,
  PRIMARY KEY (object, cluster)) WITHOUT ROWID;
CREATE UNIQUE INDEX applied_place ON applied (cluster, grp, kind, namespace, name) WHERE generation > 0;

CREATE TABLE observed (
  object text NOT NULL, cluster text NOT NULL, uid text NOT NULL, resource_version text NOT NULL,
  generation bigint NOT NULL, result text NOT NULL, drift text NOT NULL, by_whom text NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, cluster)) WITHOUT ROWID;

CREATE TABLE live (
  object text NOT NULL, cluster text NOT NULL, gateway text NOT NULL, refused smallint NOT NULL,
  generation bigint NOT NULL, proxies bigint NOT NULL, words text NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, cluster, gateway, refused)) WITHOUT ROWID;

CREATE TABLE attempts (
  object text NOT NULL, generation bigint NOT NULL, cluster text NOT NULL, gateway text NOT NULL, code text NOT NULL,
  message text NOT NULL, times bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, generation, cluster, gateway, code)) WITHOUT ROWID;
