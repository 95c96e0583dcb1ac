//! `QUERY` and `STATS`: members that share a rank, group by group.

use crate::script::script;
use crate::support::*;

on_every_server! {
    fn a_group_lists_its_members_by_ascending_name(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 50 B 50 A 30 d 30 c 10 e => 5
            RANK.QUERY b A => [1, ["A", "B"]]
            RANK.QUERY b B => [1, ["A", "B"]]
            RANK.QUERY b d => [3, ["c", "d"]]
            RANK.QUERY b e => [5, ["e"]]
            RANK.QUERY b e ASC => [1, ["e"]]
            RANK.QUERY b A ASC => [4, ["A", "B"]]
            RANK.QUERY b nobody => nil
            RANK.QUERY none A => nil
            RANK.QUERY b A JSON => "{\"rank\":1,\"users\":[\"A\",\"B\"]}"
            RANK.QUERY b nobody JSON => nil
            RANK.STATS b => [[1, ["A", "B"]], [3, ["c", "d"]], [5, ["e"]]]
            RANK.STATS b ASC => [[1, ["e"]], [2, ["c", "d"]], [4, ["A", "B"]]]
            RANK.STATS b JSON => "[[1,[\"A\",\"B\"]],[3,[\"c\",\"d\"]],[5,[\"e\"]]]"
            RANK.STATS none => nil
            RANK.STATS none JSON => nil
            RANK.CREATE asc ASC => +OK
            RANK.ADD asc 1 y 1 x 2 z => 3
            RANK.QUERY asc y => [1, ["x", "y"]]
            RANK.STATS asc => [[1, ["x", "y"]], [3, ["z"]]]
        "#);
    }

    fn groups_have_each_kind_of_rank(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 50 B 50 A 30 d 30 c 10 e => 5
            RANK.QUERY b c COMPETITION => [3, ["c", "d"]]
            RANK.QUERY b c DENSE => [2, ["c", "d"]]
            RANK.QUERY b c ORDINAL => [3, ["c", "d"]]
            RANK.QUERY b d ORDINAL => [3, ["c", "d"]]
            RANK.STATS b DENSE => [[1, ["A", "B"]], [2, ["c", "d"]], [3, ["e"]]]
            RANK.STATS b ORDINAL => [[1, ["A", "B"]], [3, ["c", "d"]], [5, ["e"]]]
            RANK.STATS b DENSE ASC JSON => "[[1,[\"e\"]],[2,[\"c\",\"d\"]],[3,[\"A\",\"B\"]]]"
        "#);
    }

    fn limit_pages_through_members_and_groups(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 5 a 5 b 5 c 5 d 3 e 3 f 1 g => 7
            RANK.QUERY b c LIMIT 0 2 => [1, ["a", "b"]]
            RANK.QUERY b a LIMIT 1 2 => [1, ["b", "c"]]
            RANK.QUERY b a LIMIT 3 9 => [1, ["d"]]
            RANK.QUERY b a LIMIT 9 9 => [1, []]
            RANK.QUERY b a LIMIT 0 0 => [1, []]
            RANK.QUERY b a LIMIT 2 -1 => [1, ["c", "d"]]
            RANK.QUERY b e LIMIT 1 1 DENSE => [2, ["f"]]
            RANK.QUERY b a JSON LIMIT 1 1 => "{\"rank\":1,\"users\":[\"b\"]}"
            RANK.STATS b LIMIT 0 1 => [[1, ["a", "b", "c", "d"]]]
            RANK.STATS b LIMIT 1 2 => [[5, ["e", "f"]], [7, ["g"]]]
            RANK.STATS b DENSE LIMIT 2 9 => [[3, ["g"]]]
            RANK.STATS b LIMIT 1 -1 DENSE => [[2, ["e", "f"]], [3, ["g"]]]
            RANK.STATS b LIMIT 3 1 => []
            RANK.STATS b LIMIT 0 0 => []
            RANK.STATS b LIMIT 1 1 JSON => "[[5,[\"e\",\"f\"]]]"
            RANK.STATS b LIMIT 9223372036854775807 9223372036854775807 => []
            RANK.QUERY b a LIMIT 1 9223372036854775807 => [1, ["b", "c", "d"]]
            RANK.STATS b ASC LIMIT 1 1 => [[2, ["e", "f"]]]
        "#);
    }

    fn names_are_ordered_as_bytes(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1 "\xff" 1 "" 1 "\x00" 1 a 1 Z 1 "a\x00" 1 "\xc3\xa9" => 7
            RANK.QUERY b a => [1, ["", "\x00", "Z", "a", "a\x00", "\xc3\xa9", "\xff"]]
            RANK.STATS b LIMIT 0 1 => [[1, ["", "\x00", "Z", "a", "a\x00", "\xc3\xa9", "\xff"]]]
        "#);
    }

    fn large_groups_are_listed_whole(server: Server) {
        let mut con = server.connect();
        let pairs: String = (0..600).map(|i| format!(" {} m{i:03}", i % 2)).collect();
        expect(&mut con, &format!("RANK.ADD b{pairs}"), "600");
        let group = |parity: usize| {
            let names: Vec<String> = (0..600).skip(parity).step_by(2).map(|i| format!("\"m{i:03}\"")).collect();
            format!("[{}]", names.join(", "))
        };
        expect(&mut con, "RANK.QUERY b m100", &format!("[301, {}]", group(0)));
        expect(&mut con, "RANK.STATS b", &format!("[[1, {}], [301, {}]]", group(1), group(0)));
        expect(&mut con, "RANK.STATS b ASC DENSE", &format!("[[1, {}], [2, {}]]", group(0), group(1)));
    }
}
