"""A pydot that keeps nodes and edges, and draws nothing."""


class InvocationException(Exception):
    pass


class Node:
    def __init__(self, name="", **attributes):
        self.name = name

    def set(self, name, value):
        pass

    def get_name(self):
        return self.name


class Edge:
    def __init__(self, source, target, **attributes):
        self.ends = (source, target)

    set = Node.set


class Dot:
    def __init__(self, *arguments, **attributes):
        self.nodes, self.edges = {}, []

    def create(self, *arguments, **keywords):
        return b""

    set = Node.set

    def set_node_defaults(self, **attributes):
        pass

    def add_node(self, node):
        self.nodes[node.name] = node

    def get_node(self, name):
        return [self.nodes[name]] if name in self.nodes else []

    def get_nodes(self):
        return list(self.nodes.values())

    def add_edge(self, edge):
        self.edges.append(edge)

    def get_edge(self, *ends):
        return [edge for edge in self.edges if edge.ends == ends]

    def add_subgraph(self, graph):
        pass

    def write(self, path, *arguments, **keywords):
        open(path, "wb").close()


Cluster = Subgraph = Dot
