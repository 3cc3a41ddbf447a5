-- +goose Up
-- How many denials of the subject were not noted before this one.
ALTER TABLE denials ADD COLUMN missed bigint NOT NULL DEFAULT 0;
