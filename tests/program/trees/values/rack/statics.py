class Tools:
    @staticmethod
    def shown(x):
        print("shown")  # GM201
        return x

    def kept(self, x):
        print("kept")  # GM201
        return x


TOOLS = Tools()
