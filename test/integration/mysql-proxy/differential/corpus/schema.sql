CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE DATABASE other;
USE shop;
CREATE TABLE orders (
  id BIGINT NOT NULL @auto PRIMARY KEY,
  note VARCHAR(100),
  amount INT NOT NULL DEFAULT 7,
  code VARCHAR(40) UNIQUE
);
CREATE TABLE items (
  name VARCHAR(60) NOT NULL,
  price DECIMAL(10,2) NOT NULL DEFAULT 0.00,
  orders_id BIGINT NULL,
  id INT UNSIGNED NOT NULL @auto,
  PRIMARY KEY (id),
  CONSTRAINT items_orders FOREIGN KEY (orders_id) REFERENCES orders (id) ON DELETE CASCADE
);
CREATE TABLE `Group` (
  `key` VARCHAR(30) NOT NULL,
  `Id` BIGINT UNSIGNED NOT NULL @auto,
  `values` TEXT,
  PRIMARY KEY (`Id`),
  UNIQUE KEY by_key (`key`)
);
CREATE TABLE kinds (
  id BIGINT NOT NULL @auto PRIMARY KEY,
  a_tiny TINYINT, a_bool BOOLEAN, a_small SMALLINT UNSIGNED, a_medium MEDIUMINT, a_big BIGINT UNSIGNED,
  a_float FLOAT, a_double DOUBLE, a_decimal DECIMAL(20,6), a_bit BIT(12),
  a_date DATE, a_time TIME(3), a_datetime DATETIME(6), a_stamp TIMESTAMP NULL, a_year YEAR,
  a_char CHAR(8), a_binary BINARY(4), a_varbinary VARBINARY(40), a_blob BLOB, a_text MEDIUMTEXT,
  an_enum ENUM('x','y','z,w'), a_set SET('a','b','c'), a_json JSON, a_point POINT, an_ip INET6, a_uuid UUID
);
CREATE TABLE rules (
  id BIGINT NOT NULL @auto,
  v INT NOT NULL,
  doubled INT AS (v * 2) VIRTUAL,
  tripled INT AS (v * 3) PERSISTENT,
  hidden VARCHAR(20) INVISIBLE DEFAULT 'h',
  short VARCHAR(5),
  stamp DATETIME DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP,
  label VARCHAR(40) DEFAULT (CONCAT('v', v)),
  PRIMARY KEY (id),
  CONSTRAINT positive CHECK (v >= 0)
);
CREATE TABLE parts (
  id BIGINT NOT NULL @auto,
  region INT NOT NULL,
  PRIMARY KEY (id, region)
) PARTITION BY LIST (region) (PARTITION north VALUES IN (1, 2), PARTITION south VALUES IN (3, 4));
CREATE TABLE chinese (
  id BIGINT NOT NULL @auto PRIMARY KEY,
  名称 VARCHAR(40),
  sign VARCHAR(40) CHARACTER SET gbk,
  west VARCHAR(40) CHARACTER SET latin1
);
CREATE TABLE my_isam (
  id BIGINT NOT NULL @auto PRIMARY KEY,
  note VARCHAR(40),
  KEY (note)
) ENGINE=MyISAM;
CREATE TABLE wp_posts (
  ID bigint(20) unsigned NOT NULL @auto,
  post_author bigint(20) unsigned NOT NULL DEFAULT 0,
  post_date datetime NOT NULL DEFAULT '0000-00-00 00:00:00',
  post_content longtext NOT NULL,
  post_title text NOT NULL,
  post_status varchar(20) NOT NULL DEFAULT 'publish',
  post_name varchar(200) NOT NULL DEFAULT '',
  menu_order int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (ID),
  KEY post_name (post_name(191))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE wp_options (
  option_id bigint(20) unsigned NOT NULL @auto,
  option_name varchar(191) NOT NULL DEFAULT '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL DEFAULT 'yes',
  PRIMARY KEY (option_id),
  UNIQUE KEY option_name (option_name)
);
CREATE TABLE plain (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  note VARCHAR(100),
  u INT UNIQUE
) AUTO_INCREMENT = 100;
CREATE TABLE logs (
  at INT NOT NULL DEFAULT 0,
  text VARCHAR(200)
);
CREATE TABLE other.orders (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  note VARCHAR(100)
) AUTO_INCREMENT = 100;
CREATE TABLE other.facts (
  id BIGINT NOT NULL @auto PRIMARY KEY,
  fact VARCHAR(100) NOT NULL
);
CREATE VIEW order_notes AS SELECT id, note FROM orders;
