# frozen_string_literal: true

# Ruby: the pg gem and ActiveRecord. Prints one line for each step, a name and a value. `cases.rb URL`.
require 'pg'
require 'active_record'

def show(step, value)
  puts "#{step}\t#{value}"
  $stdout.flush
end

url = ARGV.fetch(0)
connection = PG.connect(url)
show 'nextval', connection.exec("SELECT nextval('orders')").getvalue(0, 0)
show 'exec_params', connection.exec_params('SELECT nextval($1)', ['orders']).getvalue(0, 0)
show 'binary', connection.exec_params('SELECT nextval($1)', ['orders'], 1).getvalue(0, 0).unpack1('q>')
connection.prepare('draw', 'SELECT nextval($1) AS id')
show 'prepared', Array.new(3) { connection.exec_prepared('draw', ['orders'])[0]['id'] }
show 'describe', connection.describe_prepared('draw').then { |result| [result.paramtype(0), result.ftype(0)] }
connection.send_query("SELECT nextval('orders') FROM generate_series(1, 3)")
connection.set_single_row_mode
drawn = []
while (result = connection.get_result)
  result.check
  drawn.concat(result.values.flatten)
end
show 'single rows', drawn
connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
show 'type map', connection.exec("SELECT nextval('orders')").getvalue(0, 0).class
begin
  connection.transaction do
    connection.exec("SELECT nextval('orders')")
    raise 'rolled back'
  end
rescue RuntimeError
  show 'after rollback', connection.exec("SELECT nextval('orders')").getvalue(0, 0)
end
begin
  connection.exec("SELECT nextval('missing')")
rescue PG::Error => e
  show 'missing', e.result.error_field(PG::PG_DIAG_SQLSTATE)
end
connection.close

ActiveRecord::Base.establish_connection(url.sub('postgres://', 'postgresql://'))
active = ActiveRecord::Base.connection
show 'select_value', active.select_value("SELECT nextval('orders')")
show 'select_values', active.select_values("SELECT nextval('orders') FROM generate_series(1, 5)")
show 'next_sequence_value', active.select_value("SELECT nextval(#{active.quote('orders')})")
binds = [ActiveRecord::Relation::QueryAttribute.new('name', 'orders', ActiveRecord::Type::String.new)]
show 'exec_query', active.exec_query('SELECT nextval($1)', 'draw', binds, prepare: true).rows
show 'exec_query', active.exec_query('SELECT nextval($1)', 'draw', binds, prepare: true).rows
active.transaction do
  active.select_value("SELECT nextval('orders')")
  raise ActiveRecord::Rollback
end
show 'after rollback', active.select_value("SELECT nextval('orders')")
active.transaction do
  active.transaction(requires_new: true) { show 'savepoint', active.select_value("SELECT nextval('orders')") }
end
show 'set_pk_sequence', active.select_value("SELECT setval('orders', 100)")
begin
  active.select_value("SELECT nextval('missing')")
rescue ActiveRecord::StatementInvalid => e
  show 'missing', e.class
end
show 'tables', active.tables.inspect
show 'views', active.views.inspect
show 'table_exists?', active.table_exists?('orders')
show 'current_database', active.current_database.empty?
show 'active?', active.active?
active.execute('CREATE SEQUENCE created INCREMENT BY 10 START WITH 5')
show 'created', Array.new(2) { active.select_value("SELECT nextval('created')") }
active.execute('DROP SEQUENCE created')
active.reset!
show 'after reset', active.select_value("SELECT nextval('orders')")
