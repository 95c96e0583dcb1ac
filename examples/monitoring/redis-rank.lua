-- For redis_exporter's option -script: the counters of INFO rank, which INFO alone does not show.
-- Each becomes the metric redis_script_values{key="rank_..."}.
local values = {}
for name, value in string.gmatch(redis.call('INFO', 'rank'), '(rank_[%w_]+):(%d+)\r\n') do
    table.insert(values, name)
    table.insert(values, value)
end
return values
