---- []
select * from information_schema.sequences
