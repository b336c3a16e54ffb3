-- What is dumped. Ids of `orders` include 0, and the largest that fits.
CREATE DATABASE archive CHARACTER SET utf8mb4;
USE archive;
CREATE TABLE orders (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  note VARCHAR(200) DEFAULT NULL,
  data BLOB DEFAULT NULL,
  doubled INT AS (LENGTH(note) * 2) VIRTUAL
);
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
INSERT INTO orders (id, note, data) VALUES
  (0, 'zero', x'00'),
  (1, 'it''s "quoted" `so` \\ and \n\r\t\Z\0', x'00010a0d1a225c275c5c27ff'),
  (2, '),(NULL,''x''); -- /* INSERT INTO orders VALUES (NULL)', x''),
  (9000000000000000000, '发号 😀', REPEAT(x'275c', 500));
INSERT INTO orders (id, note, data) SELECT seq, CONCAT('row ', seq), UNHEX(SHA1(seq)) FROM seq_10_to_2009;
CREATE TABLE items (name VARCHAR(40) NOT NULL, id INT NOT NULL AUTO_INCREMENT, PRIMARY KEY (id), UNIQUE KEY (name));
INSERT INTO items (id, name) SELECT seq, CONCAT('item ', seq) FROM seq_1_to_300;
CREATE TABLE types (
  a_tiny TINYINT UNSIGNED, a_small SMALLINT, a_medium MEDIUMINT, an_int INT UNSIGNED ZEROFILL, a_big BIGINT UNSIGNED,
  a_bool BOOLEAN, a_decimal DECIMAL(30,10), a_float FLOAT, a_double DOUBLE, a_bit BIT(33),
  a_date DATE, a_time TIME(6), a_datetime DATETIME(6), a_stamp TIMESTAMP(6) NULL, a_year YEAR,
  a_char CHAR(20), a_varchar VARCHAR(200), a_binary BINARY(6), a_varbinary VARBINARY(60),
  a_tinyblob TINYBLOB, a_blob BLOB, a_longblob LONGBLOB, a_tinytext TINYTEXT, a_text TEXT, a_longtext LONGTEXT,
  an_enum ENUM('a','b''c','d,e',''), a_set SET('x','y''z','(1)'), a_json JSON, a_uuid UUID, an_inet4 INET4, an_inet6 INET6,
  a_point POINT, a_line LINESTRING, a_geometry GEOMETRY,
  a_gbk VARCHAR(60) CHARACTER SET gbk, a_sjis VARCHAR(60) CHARACTER SET sjis, a_big5 VARCHAR(60) CHARACTER SET big5,
  a_latin1 VARCHAR(60) CHARACTER SET latin1, a_ucs2 VARCHAR(60) CHARACTER SET ucs2, a_utf32 VARCHAR(60) CHARACTER SET utf32,
  `a "quoted" column, (odd)` VARCHAR(20), `名称` VARCHAR(20), `values` INT DEFAULT (1 + 1), `a``b` INT INVISIBLE,
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  a_virtual INT AS (a_tiny + 1) VIRTUAL, a_stored VARCHAR(250) AS (CONCAT(a_varchar, ';')) PERSISTENT,
  PRIMARY KEY (id), CHECK (a_tiny < 250)
);
INSERT INTO types SET id = 0;
INSERT INTO types SET id = 18446744073709551614, a_tiny = 249, a_small = -32768, a_medium = -8388608, an_int = 42,
  a_big = 18446744073709551615, a_bool = TRUE, a_decimal = '-12345678901234567890.0123456789', a_float = -1.5e-30,
  a_double = 1.7976931348623157e308, a_bit = b'100000000000000000000000000000111', a_date = '9999-12-31',
  a_time = '-838:59:59.999999', a_datetime = '2024-02-29 23:59:59.999999', a_stamp = '2037-01-19 03:14:07.123456',
  a_year = 2155, a_char = 'spaces  ', a_varchar = '\\''"`\0\n\r\Z\t%_', a_binary = x'275c00220a1a',
  a_varbinary = x'5c5c27275c', a_tinyblob = x'ff5c27', a_blob = x'bf5c27bf27', a_longblob = REPEAT(x'00ff5c27', 400),
  a_tinytext = '; -- x', a_text = '/*! (NULL) */', a_longtext = REPEAT('),(NULL,''', 900), an_enum = 'b''c',
  a_set = 'y''z,(1)', a_json = '{"a": ["it''s", "\\\\", null]}', a_uuid = '123e4567-e89b-12d3-a456-426655440000',
  an_inet4 = '10.0.0.1', an_inet6 = 'fe80::1', a_point = POINT(1.5, -2), a_line = ST_GeomFromText('LINESTRING(0 0,1 1)'),
  a_geometry = ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), a_gbk = '縗發', a_sjis = 'ソ表', a_big5 = '許功', a_latin1 = 'é\\',
  a_ucs2 = '发号', a_utf32 = '😀', `a "quoted" column, (odd)` = 'x', `名称` = '名', `values` = 3, `a``b` = 4;
INSERT INTO types (id, an_enum, a_set, a_float, a_date) VALUES (7, '', '', 0, '0000-00-00'), (8, 1, 7, 1e20, NULL);
